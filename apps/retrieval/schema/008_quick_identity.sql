-- Who is asking, in a tenth of the time: every policy asks, for each table of each statement.
-- The assertion was taken apart by a regular expression, which cost more than all the hashing.

-- The parts of this transaction's assertion, {v1, customer, session, expiry, mac}; NULL unless
-- the key signed it, it ends within the next 900 s and there is such a customer. What the key
-- signed has the form of apps/retrieval/assertion.py, so the form is not checked again. It runs
-- with the rights and the search_path of the functions below, and of nobody else.
CREATE FUNCTION identity.verified() RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
DECLARE
  whole CONSTANT text := current_setting('switchyard.assertion', true);
  part CONSTANT text[] := string_to_array(whole, '.');
  now_s CONSTANT double precision := extract(epoch FROM statement_timestamp());
  mac text;
BEGIN
  IF cardinality(part) = 5 AND part[1] = 'v1' THEN
    SELECT encode(sha256(k.outer_pad || sha256(k.inner_pad
             || convert_to(left(whole, -1 - length(part[5])), 'UTF8'))), 'hex')
      INTO mac
      FROM identity.assertion_key AS k JOIN identity.customers AS c ON c.id = part[2];
    -- Hashes are compared in place of the macs, so that the time taken tells nothing of them.
    IF sha256(convert_to(mac, 'UTF8')) = sha256(convert_to(part[5], 'UTF8')) THEN
      IF part[4]::bigint > now_s AND part[4]::bigint <= now_s + 900 THEN
        RETURN part;
      END IF;
    END IF;
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION identity.customer() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN (identity.verified())[2];
END
$$;

CREATE OR REPLACE FUNCTION identity.session() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN (identity.verified())[3];
END
$$;

CREATE OR REPLACE FUNCTION identity.readable() RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  part CONSTANT text[] := identity.verified();
BEGIN
  RETURN CASE WHEN part IS NOT NULL THEN array['', part[2]] END;
END
$$;

-- Nobody calls identity.asserted() any more; it goes once no lane knows it.
GRANT CREATE ON SCHEMA identity TO switchyard_identity;
ALTER FUNCTION identity.verified() OWNER TO switchyard_identity;
REVOKE CREATE ON SCHEMA identity FROM switchyard_identity;
REVOKE ALL ON FUNCTION identity.verified() FROM PUBLIC;
