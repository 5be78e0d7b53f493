-- Complaints. A ticket and the notice that stops the session's running answer commit together.
SET LOCAL ROLE switchyard_owner;

CREATE TABLE tickets.tickets (
  number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer   text NOT NULL REFERENCES identity.customers,
  session    text NOT NULL,
  message_id text NOT NULL CHECK (char_length(message_id) BETWEEN 1 AND 128),
  query      text NOT NULL CHECK (char_length(query) BETWEEN 1 AND 4000),
  language   text NOT NULL CHECK (language IN ('zh', 'en')),
  status     text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'closed')),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (customer, message_id)
);

ALTER TABLE tickets.tickets ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own_rows ON tickets.tickets FOR SELECT TO tickets
  USING (customer = (SELECT identity.customer()));
CREATE POLICY own_new_row ON tickets.tickets FOR INSERT TO tickets
  WITH CHECK (customer = (SELECT identity.customer())
              AND session = (SELECT identity.session()));
CREATE POLICY staff_reads ON tickets.tickets FOR SELECT TO switchyard_staff USING (true);
CREATE POLICY staff_reads ON identity.customers FOR SELECT TO switchyard_staff USING (true);

GRANT USAGE ON SCHEMA tickets TO tickets, switchyard_staff;
GRANT USAGE ON SCHEMA identity TO switchyard_staff;
GRANT SELECT ON tickets.tickets TO tickets, switchyard_staff;
GRANT INSERT (customer, session, message_id, query, language) ON tickets.tickets TO tickets;
GRANT SELECT ON identity.customers TO switchyard_staff;

-- File the asserted customer's complaint, once for each message id; runs as its caller, under
-- the policies above. Only the ticket's making is announced: a late retry must not stop an
-- answer that began after it.
CREATE FUNCTION tickets.file(
  message_id text, query text, language text, OUT number bigint, OUT created boolean
)
LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  who text := identity.customer();
  where_asked text := identity.session();
BEGIN
  IF who IS NULL THEN
    RAISE insufficient_privilege USING MESSAGE = 'the assertion is not valid now';
  END IF;
  SELECT t.number, false INTO file.number, file.created FROM tickets.tickets AS t
   WHERE t.customer = who AND t.message_id = file.message_id;
  IF FOUND THEN
    RETURN;
  END IF;
  INSERT INTO tickets.tickets AS t (customer, session, message_id, query, language)
    VALUES (who, where_asked, file.message_id, file.query, file.language)
    ON CONFLICT ON CONSTRAINT tickets_customer_message_id_key DO NOTHING
    RETURNING t.number, true INTO file.number, file.created;
  IF FOUND THEN
    PERFORM pg_notify('session_stop', where_asked);
  ELSE
    SELECT t.number, false INTO file.number, file.created FROM tickets.tickets AS t
     WHERE t.customer = who AND t.message_id = file.message_id;
  END IF;
END
$$;

RESET ROLE;

-- What staff see: never a synthetic customer's ticket. Newest first, `count` tickets with a
-- number below `before`.
CREATE FUNCTION tickets.staff_page(
  before bigint, count integer,
  OUT number bigint, OUT created_at timestamptz, OUT customer text, OUT name text,
  OUT language text, OUT status text, OUT query text
) RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT t.number, t.created_at, t.customer, c.name, t.language, t.status, t.query
    FROM tickets.tickets AS t JOIN identity.customers AS c ON c.id = t.customer
   WHERE t.number < staff_page.before AND NOT c.synthetic
   ORDER BY t.number DESC
   LIMIT least(greatest(staff_page.count, 0), 200);
END;

GRANT CREATE ON SCHEMA tickets TO switchyard_staff;
ALTER FUNCTION tickets.staff_page(bigint, integer) OWNER TO switchyard_staff;
REVOKE CREATE ON SCHEMA tickets FROM switchyard_staff;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA tickets FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tickets.staff_page(bigint, integer) TO tickets;
GRANT EXECUTE ON FUNCTION tickets.file(text, text, text) TO tickets;
