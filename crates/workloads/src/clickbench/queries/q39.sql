SELECT url, count(*) AS views
FROM hits
WHERE site_id = 23670 AND event_date >= DATE '2025-03-01' AND event_date <= DATE '2025-03-31'
    AND is_refresh = 0 AND is_link <> 0 AND is_download = 0
GROUP BY url
ORDER BY views DESC, url
LIMIT 10 OFFSET 20
