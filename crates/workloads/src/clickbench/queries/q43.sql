SELECT date_trunc('minute', event_time) AS minute, count(*) AS views
FROM hits
WHERE site_id = 23670 AND event_date >= DATE '2025-03-14' AND event_date <= DATE '2025-03-15'
    AND is_refresh = 0 AND not_counted = 0
GROUP BY date_trunc('minute', event_time)
ORDER BY minute
LIMIT 10 OFFSET 20
