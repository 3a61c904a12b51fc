SELECT regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS host,
    avg(length(referer)) AS referer_length, count(*) AS views, min(referer)
FROM hits
WHERE referer <> ''
GROUP BY host
HAVING count(*) > 1000
ORDER BY referer_length DESC, host
LIMIT 25
