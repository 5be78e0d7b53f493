-- Who is asking. A login role may set `switchyard.assertion` to any text; what counts is that
-- identity.customer() verifies its HMAC and its expiry with a key no login role can read.
SET LOCAL ROLE switchyard_owner;

CREATE TABLE identity.customers (
  id        text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9_-]{1,64}$'),
  name      text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  language  text NOT NULL CHECK (language IN ('zh', 'en')),
  synthetic boolean NOT NULL DEFAULT false
);

CREATE TABLE identity.tokens (
  sha256   bytea PRIMARY KEY CHECK (octet_length(sha256) = 32),
  customer text NOT NULL REFERENCES identity.customers
);
CREATE INDEX ON identity.tokens (customer);

CREATE TABLE identity.sessions (
  session   text PRIMARY KEY CHECK (session ~ '^[A-Za-z0-9_-]{1,64}$'),
  customer  text NOT NULL REFERENCES identity.customers,
  opened_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON identity.sessions (customer);

-- The server has sha256() but no HMAC, so the key is kept as HMAC's two pads (RFC 2104):
-- mac = sha256(outer_pad || sha256(inner_pad || message)).
CREATE TABLE identity.assertion_key (
  single    boolean PRIMARY KEY DEFAULT true CHECK (single),
  inner_pad bytea NOT NULL CHECK (octet_length(inner_pad) = 64),
  outer_pad bytea NOT NULL CHECK (octet_length(outer_pad) = 64)
);

ALTER TABLE identity.customers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE identity.tokens ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE identity.sessions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE identity.assertion_key ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY identity_reads ON identity.customers FOR SELECT TO switchyard_identity USING (true);
CREATE POLICY identity_reads ON identity.tokens FOR SELECT TO switchyard_identity USING (true);
CREATE POLICY identity_reads ON identity.sessions FOR SELECT TO switchyard_identity USING (true);
CREATE POLICY identity_binds ON identity.sessions FOR INSERT TO switchyard_identity
  WITH CHECK (true);
CREATE POLICY identity_reads ON identity.assertion_key FOR SELECT TO switchyard_identity
  USING (true);

GRANT USAGE ON SCHEMA identity TO switchyard_identity, gateway, assistant, tickets;
GRANT SELECT ON identity.customers, identity.tokens, identity.assertion_key
  TO switchyard_identity;
GRANT SELECT, INSERT ON identity.sessions TO switchyard_identity;

RESET ROLE;

-- The customer and session of this transaction's assertion; no row unless the key signed it
-- and it ends within the next 900 s (apps/retrieval/assertion.py has the same rule).
CREATE FUNCTION identity.asserted(OUT customer text, OUT session text) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  form CONSTANT text :=
    '^(v1\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{1,64})\.([1-9][0-9]{0,11}))\.([0-9a-f]{64})$';
  part text[] := regexp_match(NULLIF(current_setting('switchyard.assertion', true), ''), form);
  now_s CONSTANT double precision := extract(epoch FROM statement_timestamp());
  mac bytea;
BEGIN
  IF part IS NULL THEN
    RETURN;
  END IF;
  SELECT sha256(k.outer_pad || sha256(k.inner_pad || convert_to(part[1], 'UTF8')))
    INTO mac FROM identity.assertion_key AS k;
  -- Hashes are compared in place of the macs, so that the time taken tells nothing of them.
  IF mac IS NOT NULL AND sha256(mac) = sha256(decode(part[5], 'hex'))
     AND part[4]::bigint > now_s AND part[4]::bigint <= now_s + 900 THEN
    customer := part[2];
    session := part[3];
    RETURN NEXT;
  END IF;
END
$$;

CREATE FUNCTION identity.customer() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT a.customer FROM identity.asserted() AS a);

CREATE FUNCTION identity.session() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT a.session FROM identity.asserted() AS a);

-- The customer whose bearer token has this SHA-256; no row if there is none.
CREATE FUNCTION identity.authenticate(
  token_sha256 bytea, OUT customer text, OUT language text, OUT synthetic boolean
) RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT c.id, c.language, c.synthetic
    FROM identity.tokens AS t JOIN identity.customers AS c ON c.id = t.customer
   WHERE t.sha256 = token_sha256;
END;

-- Whether the session is this customer's: the first to name a session owns it.
CREATE FUNCTION identity.bind_session(session text, customer text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO identity.sessions (session, customer)
    VALUES (bind_session.session, bind_session.customer) ON CONFLICT DO NOTHING;
  RETURN EXISTS (
    SELECT FROM identity.sessions AS s
     WHERE s.session = bind_session.session AND s.customer = bind_session.customer);
END
$$;

GRANT CREATE ON SCHEMA identity TO switchyard_identity;
ALTER FUNCTION identity.asserted() OWNER TO switchyard_identity;
ALTER FUNCTION identity.customer() OWNER TO switchyard_identity;
ALTER FUNCTION identity.session() OWNER TO switchyard_identity;
ALTER FUNCTION identity.authenticate(bytea) OWNER TO switchyard_identity;
ALTER FUNCTION identity.bind_session(text, text) OWNER TO switchyard_identity;
REVOKE CREATE ON SCHEMA identity FROM switchyard_identity;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA identity FROM PUBLIC;
GRANT EXECUTE ON FUNCTION identity.authenticate(bytea) TO gateway;
GRANT EXECUTE ON FUNCTION identity.bind_session(text, text) TO gateway;
GRANT EXECUTE ON FUNCTION identity.customer(), identity.session()
  TO assistant, tickets, switchyard_owner;

SET LOCAL ROLE switchyard_owner;
CREATE POLICY own_row ON identity.customers FOR SELECT TO assistant
  USING (id = (SELECT identity.customer()));
GRANT SELECT ON identity.customers TO assistant;
RESET ROLE;
