SELECT min(event_date), max(event_date) FROM hits
