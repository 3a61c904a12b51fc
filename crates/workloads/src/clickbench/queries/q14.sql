SELECT search_phrase, count(DISTINCT visitor_id) AS visitors
FROM hits
WHERE search_phrase <> ''
GROUP BY search_phrase
ORDER BY visitors DESC, search_phrase
LIMIT 10
