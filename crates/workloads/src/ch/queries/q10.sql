select c_id, c_last, sum(ol_amount) as revenue, c_city, c_phone, n_name
from customer
join orders on o_c_id = c_id and o_w_id = c_w_id and o_d_id = c_d_id
join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
join nation on n_nationkey = ascii(substr(c_state, 1, 1))
where o_entry_d >= timestamp '2007-01-02' and o_entry_d <= ol_delivery_d
group by c_id, c_last, c_city, c_phone, n_name
order by revenue desc, c_id, c_last, c_city, c_phone, n_name
