SELECT count(*) FROM hits WHERE url LIKE '%harbor%'
