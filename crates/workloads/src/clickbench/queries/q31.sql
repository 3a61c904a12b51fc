SELECT search_engine_id, client_ip, count(*) AS views, sum(is_refresh), avg(window_width)
FROM hits
WHERE search_phrase <> ''
GROUP BY search_engine_id, client_ip
ORDER BY views DESC, search_engine_id, client_ip
LIMIT 10
