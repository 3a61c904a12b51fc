SELECT search_phrase, count(*) AS searches
FROM hits
WHERE search_phrase <> ''
GROUP BY search_phrase
ORDER BY searches DESC, search_phrase
LIMIT 10
