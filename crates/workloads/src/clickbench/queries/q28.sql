SELECT site_id, avg(length(url)) AS url_length, count(*) AS views
FROM hits
WHERE url <> ''
GROUP BY site_id
HAVING count(*) > 1000
ORDER BY url_length DESC, site_id
LIMIT 25
