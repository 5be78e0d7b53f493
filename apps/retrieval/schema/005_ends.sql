-- What ends: stops that a gateway did not hear, sessions that nobody uses, synthetic tickets.
--   switchyard_upkeep  owns the functions that look for stops and delete what is over; it never
--                      sees what a customer wrote
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'switchyard_upkeep') THEN
    CREATE ROLE switchyard_upkeep NOLOGIN NOBYPASSRLS NOINHERIT;
  END IF;
END
$$;
ALTER DEFAULT PRIVILEGES FOR ROLE switchyard_upkeep REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

SET LOCAL ROLE switchyard_owner;

-- The moment of the complaint itself: its transaction may have begun long before.
ALTER TABLE tickets.tickets ALTER COLUMN created_at SET DEFAULT clock_timestamp();
CREATE INDEX ON tickets.tickets (created_at);
CREATE INDEX ON tickets.tickets (customer, created_at);

CREATE POLICY upkeep_reads ON tickets.tickets FOR SELECT TO switchyard_upkeep USING (true);
CREATE POLICY upkeep_reads ON identity.customers FOR SELECT TO switchyard_upkeep USING (true);
CREATE POLICY synthetic_ends ON tickets.tickets FOR DELETE TO switchyard_upkeep
  USING (created_at < now() - interval '1 day'
         AND EXISTS (SELECT FROM identity.customers AS c WHERE c.id = customer AND c.synthetic));

GRANT USAGE ON SCHEMA tickets TO switchyard_upkeep, gateway;
GRANT USAGE ON SCHEMA identity TO switchyard_upkeep;
GRANT SELECT (number, customer, session, created_at), DELETE ON tickets.tickets
  TO switchyard_upkeep;
GRANT SELECT (id, synthetic) ON identity.customers TO switchyard_upkeep;

-- A session's life is 30 days from its last use; those that exist have theirs from now.
ALTER TABLE identity.sessions ADD COLUMN used_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX ON identity.sessions (used_at);
CREATE POLICY identity_uses ON identity.sessions FOR UPDATE TO switchyard_identity
  USING (true) WITH CHECK (true);
CREATE POLICY identity_ends ON identity.sessions FOR DELETE TO switchyard_identity
  USING (used_at < now() - interval '30 days');
GRANT UPDATE (used_at), DELETE ON identity.sessions TO switchyard_identity;

RESET ROLE;

-- Whether the session is this customer's: the first to name a session owns it, as long as it is
-- used. Each use also takes a few sessions whose life is over, so that no other job need.
CREATE OR REPLACE FUNCTION identity.bind_session(session text, customer text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  is_theirs boolean;
BEGIN
  -- One statement, so that the session cannot end between the look and the use.
  INSERT INTO identity.sessions AS s (session, customer)
    VALUES (bind_session.session, bind_session.customer)
    ON CONFLICT (session) DO UPDATE SET used_at = now() WHERE s.customer = EXCLUDED.customer;
  is_theirs := FOUND;
  DELETE FROM identity.sessions WHERE session = ANY (ARRAY(
    SELECT s.session FROM identity.sessions AS s
     WHERE s.used_at < now() - interval '30 days'
     ORDER BY s.used_at LIMIT 20 FOR UPDATE SKIP LOCKED));
  RETURN is_theirs;
END
$$;

-- A synthetic customer's new ticket takes a few of their tickets of more than a day ago with it;
-- no page shows them, and no other job need run. The policy above says the same.
CREATE FUNCTION tickets.end_synthetic() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF EXISTS (SELECT FROM identity.customers AS c WHERE c.id = NEW.customer AND c.synthetic)
     -- One at a time, because a complaint must not wait for another's deletion.
     AND pg_try_advisory_xact_lock(7305002) THEN
    DELETE FROM tickets.tickets WHERE number = ANY (ARRAY(
      SELECT t.number FROM tickets.tickets AS t
       WHERE t.customer = NEW.customer AND t.created_at < now() - interval '1 day'
       ORDER BY t.created_at LIMIT 20));
  END IF;
  RETURN NULL;
END
$$;

-- The sessions in which a complaint was made within the last `seconds` (600 at most), and how
-- many seconds ago. Durations alone cross the border: the gateway has another clock.
CREATE FUNCTION tickets.stopped_within(
  seconds double precision, OUT session text, OUT seconds_ago double precision
) RETURNS SETOF record
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT t.session, extract(epoch FROM clock_timestamp() - max(t.created_at))
    FROM tickets.tickets AS t
   WHERE t.created_at
         > now() - make_interval(secs => least(greatest(stopped_within.seconds, 0), 600))
   GROUP BY t.session;
END;

GRANT CREATE ON SCHEMA tickets TO switchyard_upkeep;
ALTER FUNCTION tickets.end_synthetic() OWNER TO switchyard_upkeep;
ALTER FUNCTION tickets.stopped_within(double precision) OWNER TO switchyard_upkeep;
REVOKE CREATE ON SCHEMA tickets FROM switchyard_upkeep;

REVOKE ALL ON FUNCTION tickets.end_synthetic(), tickets.stopped_within(double precision)
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tickets.stopped_within(double precision) TO gateway;

CREATE TRIGGER end_synthetic AFTER INSERT ON tickets.tickets
  FOR EACH ROW EXECUTE FUNCTION tickets.end_synthetic();
