SELECT search_phrase, min(url), count(*) AS searches
FROM hits
WHERE url LIKE '%harbor%' AND search_phrase <> ''
GROUP BY search_phrase
ORDER BY searches DESC, search_phrase
LIMIT 10
