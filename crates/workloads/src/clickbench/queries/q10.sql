SELECT region_id, sum(ad_engine_id), count(*) AS views, avg(screen_width),
    count(DISTINCT visitor_id)
FROM hits
GROUP BY region_id
ORDER BY views DESC, region_id
LIMIT 10
