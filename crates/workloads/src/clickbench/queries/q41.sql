SELECT url_hash, event_date, count(*) AS views
FROM hits
WHERE site_id = 23670 AND event_date >= DATE '2025-03-01' AND event_date <= DATE '2025-03-31'
    AND is_refresh = 0 AND source_id IN (-1, 6) AND referer_hash = -7267842538811795027
GROUP BY url_hash, event_date
ORDER BY views DESC, url_hash, event_date
LIMIT 10 OFFSET 10
