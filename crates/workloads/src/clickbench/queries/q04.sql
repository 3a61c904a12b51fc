SELECT avg(visitor_id) FROM hits
