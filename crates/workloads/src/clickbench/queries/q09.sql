SELECT region_id, count(DISTINCT visitor_id) AS visitors
FROM hits
GROUP BY region_id
ORDER BY visitors DESC, region_id
LIMIT 10
