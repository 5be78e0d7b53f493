-- Customers' uploads on their way to the loader: parts come through the gateway, in order, and
-- wait here until a file is whole; the loader takes it, and its parts go.
--   switchyard_uploads  owns the function that takes parts; it sees no document
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'switchyard_uploads') THEN
    CREATE ROLE switchyard_uploads NOLOGIN NOBYPASSRLS NOINHERIT;
  END IF;
END
$$;
ALTER DEFAULT PRIVILEGES FOR ROLE switchyard_uploads REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

SET LOCAL ROLE switchyard_owner;

CREATE TABLE documents.uploads (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer   text NOT NULL REFERENCES identity.customers,
  name       text NOT NULL CHECK (name ~ '^[^/\\[:cntrl:]]{1,200}\.pdf$' AND name !~ '^\.'),
  sha256     bytea NOT NULL CHECK (octet_length(sha256) = 32),
  size       bigint NOT NULL CHECK (size BETWEEN 1 AND 52428800),
  received   bigint NOT NULL DEFAULT 0 CHECK (received BETWEEN 0 AND size),
  state      text NOT NULL DEFAULT 'receiving'
             CHECK (state IN ('receiving', 'queued', 'loading', 'loaded', 'failed')),
  error      text NOT NULL DEFAULT '',
  touched_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (customer, name)
);
CREATE INDEX ON documents.uploads (state, touched_at);

CREATE TABLE documents.upload_parts (
  upload  bigint NOT NULL REFERENCES documents.uploads ON DELETE CASCADE,
  start   bigint NOT NULL,
  content bytea NOT NULL CHECK (octet_length(content) BETWEEN 1 AND 2097152),
  PRIMARY KEY (upload, start)
);
-- PDF is compressed already.
ALTER TABLE documents.upload_parts ALTER COLUMN content SET STORAGE EXTERNAL;

ALTER TABLE documents.uploads ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE documents.upload_parts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY takes ON documents.uploads TO switchyard_uploads USING (true) WITH CHECK (true);
CREATE POLICY takes ON documents.upload_parts TO switchyard_uploads USING (true) WITH CHECK (true);
CREATE POLICY loads ON documents.uploads TO loader USING (true) WITH CHECK (true);
CREATE POLICY loads ON documents.upload_parts TO loader USING (true) WITH CHECK (true);

GRANT USAGE ON SCHEMA documents TO switchyard_uploads, gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON documents.uploads, documents.upload_parts
  TO switchyard_uploads;
GRANT SELECT, UPDATE (state, error, touched_at) ON documents.uploads TO loader;
GRANT SELECT, DELETE ON documents.upload_parts TO loader;

RESET ROLE;

-- Take the part of a customer's file that begins at byte `start`; without content, only say how
-- far it is. A part counts once however often it is sent, and one that is ahead of its turn is
-- not taken: the answer is always the byte to go on with. Another digest begins the file anew.
CREATE FUNCTION documents.take_part(
  customer text, name text, sha256 bytea, size bigint, start bigint, content bytea,
  OUT received bigint, OUT state text, OUT error text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  this documents.uploads;
BEGIN
  -- What nobody went on with for a day is over.
  DELETE FROM documents.uploads AS u
   WHERE u.state = 'receiving' AND u.touched_at < now() - interval '1 day';
  INSERT INTO documents.uploads AS u (customer, name, sha256, size)
    VALUES (take_part.customer, take_part.name, take_part.sha256, take_part.size)
    ON CONFLICT ON CONSTRAINT uploads_customer_name_key DO UPDATE SET touched_at = now()
    RETURNING u.* INTO this;
  IF this.sha256 <> take_part.sha256 OR this.size <> take_part.size
     OR (this.state = 'failed' AND take_part.content IS NOT NULL AND take_part.start = 0) THEN
    DELETE FROM documents.upload_parts AS p WHERE p.upload = this.id;
    UPDATE documents.uploads AS u
       SET sha256 = take_part.sha256, size = take_part.size, received = 0, state = 'receiving',
           error = ''
     WHERE u.id = this.id RETURNING u.* INTO this;
  END IF;
  IF (SELECT count(*) FROM documents.uploads AS u
       WHERE u.customer = this.customer AND u.state IN ('receiving', 'queued', 'loading')) > 4 THEN
    RAISE program_limit_exceeded USING MESSAGE = 'more than 4 uploads are under way';
  END IF;
  IF take_part.content IS NOT NULL AND this.state = 'receiving'
     AND take_part.start = this.received
     AND take_part.start + octet_length(take_part.content) <= this.size THEN
    INSERT INTO documents.upload_parts (upload, start, content)
      VALUES (this.id, take_part.start, take_part.content);
    UPDATE documents.uploads AS u
       SET received = u.received + octet_length(take_part.content),
           state = CASE WHEN u.received + octet_length(take_part.content) = u.size
                   THEN 'queued' ELSE 'receiving' END
     WHERE u.id = this.id RETURNING u.* INTO this;
    IF this.state = 'queued' THEN
      PERFORM pg_notify('upload', '');
    END IF;
  END IF;
  take_part.received := this.received;
  take_part.state := this.state;
  take_part.error := this.error;
END
$$;

GRANT CREATE ON SCHEMA documents TO switchyard_uploads;
ALTER FUNCTION documents.take_part(text, text, bytea, bigint, bigint, bytea)
  OWNER TO switchyard_uploads;
REVOKE CREATE ON SCHEMA documents FROM switchyard_uploads;
REVOKE ALL ON FUNCTION documents.take_part(text, text, bytea, bigint, bigint, bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION documents.take_part(text, text, bytea, bigint, bigint, bytea)
  TO gateway;
