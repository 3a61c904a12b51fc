SELECT count(*) FROM hits
