SELECT source_id, search_engine_id, ad_engine_id,
    CASE WHEN search_engine_id = 0 AND ad_engine_id = 0 THEN referer ELSE '' END AS origin,
    url AS target, count(*) AS views
FROM hits
WHERE site_id = 23670 AND event_date >= DATE '2025-03-01' AND event_date <= DATE '2025-03-31'
    AND is_refresh = 0
GROUP BY source_id, search_engine_id, ad_engine_id, origin, target
ORDER BY views DESC, source_id, search_engine_id, ad_engine_id, origin, target
LIMIT 10 OFFSET 100
