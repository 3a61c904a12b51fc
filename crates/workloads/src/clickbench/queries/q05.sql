SELECT count(DISTINCT visitor_id) FROM hits
