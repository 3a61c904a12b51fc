SELECT 1 AS one, url, count(*) AS views
FROM hits
GROUP BY one, url
ORDER BY views DESC, url
LIMIT 10
