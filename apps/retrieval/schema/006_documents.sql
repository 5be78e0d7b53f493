-- Documents, their passages, and the vectors by which passages are found.
--   loader  writes them all: the insurer's own documents and customers' uploads
-- `owner` is the customer whose upload it is, or '' for the insurer's own, which every
-- customer may read; each table has it, so that each has a policy of its own.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'loader') THEN
    CREATE ROLE loader LOGIN NOBYPASSRLS NOINHERIT;
  END IF;
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO loader', current_database());
END
$$;

CREATE SCHEMA pgvector;
CREATE EXTENSION vector SCHEMA pgvector;
CREATE SCHEMA documents AUTHORIZATION switchyard_owner;

-- Whose documents the asserted customer may read: the insurer's and their own; nobody's without
-- a valid assertion. One array, because `owner = ANY (array)` can use an index under a policy.
CREATE FUNCTION identity.readable() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT array['', c.id]
          FROM identity.asserted() AS a JOIN identity.customers AS c ON c.id = a.customer);

GRANT CREATE ON SCHEMA identity TO switchyard_identity;
ALTER FUNCTION identity.readable() OWNER TO switchyard_identity;
REVOKE CREATE ON SCHEMA identity FROM switchyard_identity;
REVOKE ALL ON FUNCTION identity.readable() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION identity.readable() TO assistant, switchyard_owner;

GRANT USAGE ON SCHEMA pgvector TO switchyard_owner, assistant, loader;

SET LOCAL ROLE switchyard_owner;

CREATE TABLE documents.documents (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer    text REFERENCES identity.customers,
  owner       text NOT NULL GENERATED ALWAYS AS (coalesce(customer, '')) STORED,
  name        text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  title       text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 500),
  department  text NOT NULL CHECK (department ~ '^[a-z][a-z0-9_-]{0,39}$'),
  reported_on date,
  language    text NOT NULL CHECK (language IN ('zh', 'en')),
  pages       integer NOT NULL CHECK (pages >= 0),
  sha3        text NOT NULL CHECK (sha3 ~ '^[0-9a-f]{128}$'),
  -- Of everything that was stored with it, so that an equal load changes nothing.
  print       bytea NOT NULL CHECK (octet_length(print) = 32),
  risk        jsonb NOT NULL,
  report      jsonb NOT NULL,
  loaded_at   timestamptz NOT NULL DEFAULT now(),
  UNIQUE (owner, name),
  UNIQUE (id, owner)
);
CREATE INDEX ON documents.documents (sha3);

CREATE TABLE documents.chunks (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  document    bigint NOT NULL,
  owner       text NOT NULL,
  number      integer NOT NULL CHECK (number >= 0),
  kind        text NOT NULL CHECK (kind IN ('text', 'table_row', 'heading')),
  text        text NOT NULL,
  search_text text NOT NULL,
  section     text[] NOT NULL,
  -- [{"page", "x0", "y0", "x1", "y1"}]: unrotated page points, origin top left, pages from 1.
  boxes       jsonb NOT NULL,
  tokens      integer NOT NULL,
  metadata    jsonb NOT NULL,
  UNIQUE (document, number),
  UNIQUE (id, owner),
  FOREIGN KEY (document, owner) REFERENCES documents.documents (id, owner) ON DELETE CASCADE
);

-- Two columns of vectors, as there are two lanes: which model's vectors each holds. A column that
-- is being filled is not ready, and nobody searches it (apps/retrieval/space.py).
CREATE TABLE documents.spaces (
  slot        text PRIMARY KEY CHECK (slot IN ('a', 'b')),
  model       text NOT NULL UNIQUE,
  ready       boolean NOT NULL DEFAULT false
);

-- The middle of what the insurer's own documents say in each language, and of what is asked in
-- it; they are taken from vectors, so that two languages can be compared
-- (apps/retrieval/centring.py).
CREATE TABLE documents.means (
  model       text NOT NULL REFERENCES documents.spaces (model) ON DELETE CASCADE,
  language    text NOT NULL CHECK (language IN ('zh', 'en')),
  mean        pgvector.vector NOT NULL,
  asked       pgvector.vector NOT NULL,
  PRIMARY KEY (model, language)
);

-- What a model made of each chunk, as it came.
CREATE TABLE documents.embeddings (
  model       text NOT NULL REFERENCES documents.spaces (model) ON DELETE CASCADE,
  chunk       bigint NOT NULL,
  owner       text NOT NULL,
  raw         pgvector.vector NOT NULL,
  PRIMARY KEY (model, chunk),
  FOREIGN KEY (chunk, owner) REFERENCES documents.chunks (id, owner) ON DELETE CASCADE
);
CREATE INDEX ON documents.embeddings (chunk);

-- What a search reads: narrow, and the vectors in the row instead of out of line, so that an
-- exact search of a few thousand rows is quick.
CREATE TABLE documents.vectors (
  chunk       bigint PRIMARY KEY,
  owner       text NOT NULL,
  department  text NOT NULL,
  reported_on date,
  confidence  real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  language    text NOT NULL CHECK (language IN ('zh', 'en')),
  embedding_a pgvector.vector(384) CHECK (abs(pgvector.vector_norm(embedding_a) - 1) < 0.001),
  embedding_b pgvector.vector(384) CHECK (abs(pgvector.vector_norm(embedding_b) - 1) < 0.001),
  FOREIGN KEY (chunk, owner) REFERENCES documents.chunks (id, owner) ON DELETE CASCADE
);
ALTER TABLE documents.vectors ALTER COLUMN embedding_a SET STORAGE PLAIN,
                              ALTER COLUMN embedding_b SET STORAGE PLAIN;
-- All that a filter and a policy look at: counting reads the index alone, and a row that does
-- not pass is never fetched.
CREATE INDEX vectors_filter ON documents.vectors (department, reported_on, confidence, owner);
CREATE INDEX vectors_near_a ON documents.vectors
  USING hnsw (embedding_a pgvector.vector_cosine_ops);
CREATE INDEX vectors_near_b ON documents.vectors
  USING hnsw (embedding_b pgvector.vector_cosine_ops);
-- A department publishes in its own season, which single columns do not tell the planner.
CREATE STATISTICS documents.vectors_filters (ndistinct, dependencies, mcv)
  ON department, reported_on FROM documents.vectors;

ALTER TABLE documents.documents ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE documents.chunks ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE documents.embeddings ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE documents.vectors ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE documents.spaces ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE documents.means ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY readable ON documents.documents FOR SELECT TO assistant
  USING (owner = ANY ((SELECT identity.readable())::text[]));
CREATE POLICY readable ON documents.chunks FOR SELECT TO assistant
  USING (owner = ANY ((SELECT identity.readable())::text[]));
CREATE POLICY readable ON documents.vectors FOR SELECT TO assistant
  USING (owner = ANY ((SELECT identity.readable())::text[]));
CREATE POLICY readable ON documents.spaces FOR SELECT TO assistant USING (true);
CREATE POLICY readable ON documents.means FOR SELECT TO assistant USING (true);
CREATE POLICY loads ON documents.documents TO loader USING (true) WITH CHECK (true);
CREATE POLICY loads ON documents.chunks TO loader USING (true) WITH CHECK (true);
CREATE POLICY loads ON documents.embeddings TO loader USING (true) WITH CHECK (true);
CREATE POLICY loads ON documents.vectors TO loader USING (true) WITH CHECK (true);
CREATE POLICY loads ON documents.spaces TO loader USING (true) WITH CHECK (true);
CREATE POLICY loads ON documents.means TO loader USING (true) WITH CHECK (true);

GRANT USAGE ON SCHEMA documents TO assistant, loader;
GRANT SELECT ON documents.documents, documents.chunks, documents.vectors, documents.spaces,
  documents.means TO assistant;
GRANT SELECT, INSERT, DELETE ON documents.documents, documents.chunks, documents.embeddings
  TO loader;
-- To clear away what it moved: a graph full of dead rows leads searches astray.
GRANT MAINTAIN ON documents.vectors TO loader;
GRANT SELECT, INSERT, UPDATE, DELETE ON documents.vectors, documents.spaces, documents.means
  TO loader;

RESET ROLE;
