SELECT window_width, window_height, count(*) AS views
FROM hits
WHERE site_id = 23670 AND event_date >= DATE '2025-03-01' AND event_date <= DATE '2025-03-31'
    AND is_refresh = 0 AND not_counted = 0 AND url_hash = -7267842538811795027
GROUP BY window_width, window_height
ORDER BY views DESC, window_width, window_height
LIMIT 10 OFFSET 5
