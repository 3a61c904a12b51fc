SELECT visitor_id, search_phrase, count(*) AS views
FROM hits
GROUP BY visitor_id, search_phrase
ORDER BY views DESC, visitor_id, search_phrase
LIMIT 10
