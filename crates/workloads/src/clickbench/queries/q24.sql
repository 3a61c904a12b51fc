SELECT * FROM hits WHERE url LIKE '%harbor%' ORDER BY event_time, hit_id LIMIT 10
