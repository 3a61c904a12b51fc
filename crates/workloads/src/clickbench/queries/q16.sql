SELECT visitor_id, count(*) AS views
FROM hits
GROUP BY visitor_id
ORDER BY views DESC, visitor_id
LIMIT 10
