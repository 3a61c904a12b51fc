-- The five transactions as functions, with the answers of the terminals. Money is returned in cents.

CREATE FUNCTION tpcc_new_order(
    w int, d int, c int, entered timestamp, all_local int,
    items int[], supplies int[], quantities int[],
    OUT order_id int, OUT total bigint, OUT branded int
) LANGUAGE plpgsql AS $$
DECLARE
    warehouse_tax numeric; district_tax numeric; discount numeric; last text; credit text;
    price numeric; item_name text; item_data text; info text; stock_data text;
    amount numeric := 0; line_amount numeric;
BEGIN
    SELECT w_tax, c_discount, c_last, c_credit INTO warehouse_tax, discount, last, credit
        FROM warehouse, customer WHERE w_id = w AND c_w_id = w AND c_d_id = d AND c_id = c;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
        RETURNING d_next_o_id - 1, d_tax INTO order_id, district_tax;
    INSERT INTO orders VALUES
        (w, d, order_id, c, entered, NULL, array_length(items, 1), all_local);
    INSERT INTO new_order VALUES (w, d, order_id);
    branded := 0;
    FOR i IN 1..array_length(items, 1) LOOP
        SELECT i_price, i_name, i_data INTO price, item_name, item_data
            FROM item WHERE i_id = items[i];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'item % is unused', items[i] USING ERRCODE = 'TP001';
        END IF;
        line_amount := price * quantities[i];
        amount := amount + line_amount;
        UPDATE stock SET
            s_quantity = CASE WHEN s_quantity >= quantities[i] + 10
                THEN s_quantity - quantities[i] ELSE s_quantity - quantities[i] + 91 END,
            s_ytd = s_ytd + quantities[i],
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + (supplies[i] <> w)::int
            WHERE s_w_id = supplies[i] AND s_i_id = items[i]
            RETURNING s_data, CASE d
                WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                ELSE s_dist_10 END
            INTO stock_data, info;
        IF position('ORIGINAL' IN item_data) > 0 AND position('ORIGINAL' IN stock_data) > 0 THEN
            branded := branded + 1;
        END IF;
        INSERT INTO order_line VALUES
            (w, d, order_id, i, items[i], supplies[i], NULL, quantities[i], line_amount, info);
    END LOOP;
    total := round(amount * (1 - discount) * (1 + warehouse_tax + district_tax) * 100);
END $$;

-- The customer with number `c`, or if that is 0 the middle one with this last name.
CREATE FUNCTION tpcc_customer(w int, d int, c int, name text) RETURNS int
LANGUAGE plpgsql STABLE AS $$
DECLARE ids int[];
BEGIN
    IF c <> 0 THEN RETURN c; END IF;
    SELECT array_agg(c_id ORDER BY c_first) INTO ids FROM customer
        WHERE c_w_id = w AND c_d_id = d AND c_last = name;
    RETURN ids[(array_length(ids, 1) + 1) / 2];
END $$;

CREATE FUNCTION tpcc_payment(
    w int, d int, c_w int, c_d int, c int, name text, amount numeric, paid timestamp,
    OUT customer_id int, OUT balance bigint
) LANGUAGE plpgsql AS $$
DECLARE warehouse_name text; district_name text; credit text; new_balance numeric;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w
        RETURNING w_name INTO warehouse_name;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d
        RETURNING d_name INTO district_name;
    customer_id := tpcc_customer(c_w, c_d, c, name);
    SELECT c_credit INTO credit FROM customer
        WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = customer_id;
    IF credit = 'BC' THEN
        UPDATE customer SET c_balance = c_balance - amount,
            c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1,
            c_data = substr(concat_ws(' ', customer_id, c_d, c_w, d, w, amount) || c_data, 1, 500)
            WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = customer_id
            RETURNING c_balance INTO new_balance;
    ELSE
        UPDATE customer SET c_balance = c_balance - amount,
            c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1
            WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = customer_id
            RETURNING c_balance INTO new_balance;
    END IF;
    INSERT INTO history VALUES (customer_id, c_d, c_w, d, w, paid, amount,
        warehouse_name || '    ' || district_name);
    balance := new_balance * 100;
END $$;

CREATE FUNCTION tpcc_order_status(
    w int, d int, c int, name text,
    OUT customer_id int, OUT balance bigint, OUT order_id int, OUT carrier int, OUT lines int,
    OUT amount bigint
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    customer_id := tpcc_customer(w, d, c, name);
    SELECT c_balance * 100 INTO balance FROM customer
        WHERE c_w_id = w AND c_d_id = d AND c_id = customer_id;
    SELECT o_id, coalesce(o_carrier_id, 0) INTO order_id, carrier FROM orders
        WHERE o_w_id = w AND o_d_id = d AND o_c_id = customer_id ORDER BY o_id DESC LIMIT 1;
    SELECT count(*), sum(ol_amount) * 100 INTO lines, amount FROM order_line
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = order_id;
END $$;

CREATE FUNCTION tpcc_delivery(w int, carrier int, delivered timestamp) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE o int; c int; amount numeric; districts int := 0;
BEGIN
    FOR d IN 1..10 LOOP
        SELECT no_o_id INTO o FROM new_order
            WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
        UPDATE orders SET o_carrier_id = carrier
            WHERE o_w_id = w AND o_d_id = d AND o_id = o RETURNING o_c_id INTO c;
        UPDATE order_line SET ol_delivery_d = delivered
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
        SELECT sum(ol_amount) INTO amount FROM order_line
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
        UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = w AND c_d_id = d AND c_id = c;
        districts := districts + 1;
    END LOOP;
    RETURN districts;
END $$;

CREATE FUNCTION tpcc_stock_level(w int, d int, threshold int) RETURNS int
LANGUAGE plpgsql STABLE AS $$
DECLARE next int; low int;
BEGIN
    SELECT d_next_o_id INTO next FROM district WHERE d_w_id = w AND d_id = d;
    SELECT count(DISTINCT s_i_id) INTO low FROM order_line, stock
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id >= next - 20 AND ol_o_id < next
        AND s_w_id = w AND s_i_id = ol_i_id AND s_quantity < threshold;
    RETURN low;
END $$;
