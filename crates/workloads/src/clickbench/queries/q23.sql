SELECT search_phrase, min(url), min(title), count(*) AS searches, count(DISTINCT visitor_id)
FROM hits
WHERE title LIKE '%Garden%' AND url NOT LIKE '%?id=%' AND search_phrase <> ''
GROUP BY search_phrase
ORDER BY searches DESC, search_phrase
LIMIT 10
