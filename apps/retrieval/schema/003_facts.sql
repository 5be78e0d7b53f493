-- Customers' facts: the insurance account and lab reports. Amounts are in the account's
-- currency, results in the analyte's unit.
SET LOCAL ROLE switchyard_owner;

CREATE TABLE insurance.accounts (
  customer        text PRIMARY KEY REFERENCES identity.customers,
  policy          text NOT NULL,
  plan            text NOT NULL,
  currency        text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  balance         numeric(12, 2) NOT NULL CHECK (balance >= 0),
  annual_limit    numeric(12, 2) NOT NULL CHECK (annual_limit >= 0),
  used_this_year  numeric(12, 2) NOT NULL CHECK (used_this_year >= 0),
  deductible      numeric(12, 2) NOT NULL CHECK (deductible >= 0),
  deductible_left numeric(12, 2) NOT NULL CHECK (deductible_left BETWEEN 0 AND deductible),
  as_of           date NOT NULL
);

-- What can be measured; nobody's own data, so every reader may see it.
CREATE TABLE medical.analytes (
  code     text PRIMARY KEY CHECK (code ~ '^[a-z][a-z0-9_]{0,39}$'),
  label_zh text NOT NULL,
  label_en text NOT NULL,
  unit     text NOT NULL
);

CREATE TABLE medical.reports (
  id          text PRIMARY KEY,
  customer    text NOT NULL REFERENCES identity.customers,
  laboratory  text NOT NULL,
  reported_on date NOT NULL,
  UNIQUE (id, customer)
);
CREATE INDEX ON medical.reports (customer, reported_on DESC);

CREATE TABLE medical.results (
  report   text NOT NULL,
  customer text NOT NULL,
  analyte  text NOT NULL REFERENCES medical.analytes,
  position integer NOT NULL,
  value    numeric NOT NULL,
  low      numeric,
  high     numeric CHECK (high >= low),
  flag     text NOT NULL GENERATED ALWAYS AS (
             CASE WHEN value < low THEN 'low' WHEN value > high THEN 'high' ELSE 'normal' END
           ) STORED,
  PRIMARY KEY (report, analyte),
  FOREIGN KEY (report, customer) REFERENCES medical.reports (id, customer)
);
CREATE INDEX ON medical.results (customer);

ALTER TABLE insurance.accounts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE medical.reports ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE medical.results ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own_row ON insurance.accounts FOR SELECT TO assistant
  USING (customer = (SELECT identity.customer()));
CREATE POLICY own_rows ON medical.reports FOR SELECT TO assistant
  USING (customer = (SELECT identity.customer()));
CREATE POLICY own_rows ON medical.results FOR SELECT TO assistant
  USING (customer = (SELECT identity.customer()));

-- The results of each customer's newest report, as the reader may see them.
CREATE VIEW medical.latest_results WITH (security_invoker = true) AS
  SELECT r.customer, r.laboratory, r.reported_on, x.analyte, a.label_zh, a.label_en, a.unit,
         x.position, x.value, x.low, x.high, x.flag
    FROM medical.reports AS r
    JOIN medical.results AS x ON x.report = r.id AND x.customer = r.customer
    JOIN medical.analytes AS a ON a.code = x.analyte
   WHERE NOT EXISTS (
     SELECT FROM medical.reports AS newer
      WHERE newer.customer = r.customer
        AND (newer.reported_on, newer.id) > (r.reported_on, r.id));

GRANT USAGE ON SCHEMA insurance, medical TO assistant;
GRANT SELECT ON insurance.accounts, medical.analytes, medical.reports, medical.results,
  medical.latest_results TO assistant;

RESET ROLE;
