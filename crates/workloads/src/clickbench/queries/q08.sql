SELECT ad_engine_id, count(*) AS views
FROM hits
WHERE ad_engine_id <> 0
GROUP BY ad_engine_id
ORDER BY views DESC, ad_engine_id
