SELECT client_ip, client_ip - 1 AS below, client_ip - 2 AS lower, client_ip - 3 AS lowest,
    count(*) AS views
FROM hits
WHERE client_ip > -2147483640
GROUP BY client_ip, below, lower, lowest
ORDER BY views DESC, client_ip
LIMIT 10
