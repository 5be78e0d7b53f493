-- Invented customers to try the assistant with.
INSERT INTO identity.customers (id, name, language) VALUES
  ('c-1001', '王芳', 'zh'),
  ('c-1002', 'Emma Clarke', 'en'),
  ('c-1003', '李建国', 'zh'),
  ('c-1004', 'Daniel Osei', 'en'),
  ('c-1005', '陈静', 'zh')
ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, language = EXCLUDED.language;

INSERT INTO insurance.accounts (customer, policy, plan, currency, balance, annual_limit,
  used_this_year, deductible, deductible_left, as_of) VALUES
  ('c-1001', 'P-1001', '优选医疗保险', 'CNY', 12680.50, 30000.00, 17319.50, 1000.00, 0.00,
   '2026-11-01'),
  ('c-1002', 'P-1002', 'Standard Health', 'CNY', 3940.00, 20000.00, 16060.00, 1500.00, 0.00,
   '2026-11-01'),
  ('c-1003', 'P-1003', '标准医疗保险', 'CNY', 0.00, 20000.00, 20000.00, 1500.00, 0.00,
   '2026-11-01'),
  ('c-1004', 'P-1004', 'Premium Health', 'CNY', 27115.25, 30000.00, 2884.75, 1000.00, 250.00,
   '2026-11-01')
ON CONFLICT (customer) DO UPDATE
  SET policy = EXCLUDED.policy, plan = EXCLUDED.plan, currency = EXCLUDED.currency,
      balance = EXCLUDED.balance, annual_limit = EXCLUDED.annual_limit,
      used_this_year = EXCLUDED.used_this_year, deductible = EXCLUDED.deductible,
      deductible_left = EXCLUDED.deductible_left, as_of = EXCLUDED.as_of;

INSERT INTO medical.reports (id, customer, laboratory, reported_on) VALUES
  ('r-1001-1', 'c-1001', '市第一医院检验科', '2025-10-12'),
  ('r-1001-2', 'c-1001', '市第一医院检验科', '2026-09-18'),
  ('r-1002-1', 'c-1002', 'Riverside Clinic Laboratory', '2026-08-03'),
  ('r-1003-1', 'c-1003', '康宁体检中心', '2026-06-25'),
  ('r-1004-1', 'c-1004', 'Northgate Medical Laboratory', '2026-10-30')
ON CONFLICT (id) DO UPDATE
  SET laboratory = EXCLUDED.laboratory, reported_on = EXCLUDED.reported_on;

DELETE FROM medical.results
 WHERE report IN ('r-1001-1', 'r-1001-2', 'r-1002-1', 'r-1003-1', 'r-1004-1');
INSERT INTO medical.results (report, customer, analyte, position, value, low, high)
  SELECT r.id, r.customer, v.analyte, v.position, v.value, v.low, v.high
    FROM medical.reports AS r JOIN (VALUES
      ('r-1001-1', 'glucose', 1, 5.9, 3.9, 6.1),
      ('r-1001-1', 'total_cholesterol', 2, 5.1, NULL, 5.2),
      ('r-1001-1', 'ldl', 3, 3.3, NULL, 3.4),
      ('r-1001-1', 'hdl', 4, 1.2, 1.0, NULL),
      ('r-1001-1', 'triglycerides', 5, 1.6, NULL, 1.7),
      ('r-1001-1', 'haemoglobin', 6, 118, 115, 150),
      ('r-1001-2', 'glucose', 1, 6.4, 3.9, 6.1),
      ('r-1001-2', 'hba1c', 2, 6.1, 4.0, 6.0),
      ('r-1001-2', 'total_cholesterol', 3, 5.6, NULL, 5.2),
      ('r-1001-2', 'ldl', 4, 3.7, NULL, 3.4),
      ('r-1001-2', 'hdl', 5, 1.3, 1.0, NULL),
      ('r-1001-2', 'triglycerides', 6, 1.5, NULL, 1.7),
      ('r-1001-2', 'alt', 7, 21, 7, 40),
      ('r-1001-2', 'haemoglobin', 8, 112, 115, 150),
      ('r-1002-1', 'glucose', 1, 4.8, 3.9, 6.1),
      ('r-1002-1', 'total_cholesterol', 2, 5.4, NULL, 5.2),
      ('r-1002-1', 'ldl', 3, 3.6, NULL, 3.4),
      ('r-1002-1', 'hdl', 4, 1.6, 1.0, NULL),
      ('r-1002-1', 'alt', 5, 18, 7, 40),
      ('r-1002-1', 'creatinine', 6, 88, 41, 81),
      ('r-1003-1', 'glucose', 1, 5.2, 3.9, 6.1),
      ('r-1003-1', 'total_cholesterol', 2, 4.6, NULL, 5.2),
      ('r-1003-1', 'ldl', 3, 2.8, NULL, 3.4),
      ('r-1003-1', 'hdl', 4, 1.2, 1.0, NULL),
      ('r-1003-1', 'triglycerides', 5, 1.1, NULL, 1.7),
      ('r-1003-1', 'uric_acid', 6, 365, 208, 428),
      ('r-1004-1', 'glucose', 1, 5.6, 3.9, 6.1),
      ('r-1004-1', 'hba1c', 2, 5.5, 4.0, 6.0),
      ('r-1004-1', 'triglycerides', 3, 2.3, NULL, 1.7),
      ('r-1004-1', 'alt', 4, 61, 9, 50),
      ('r-1004-1', 'creatinine', 5, 83, 57, 97),
      ('r-1004-1', 'uric_acid', 6, 451, 208, 428),
      ('r-1004-1', 'haemoglobin', 7, 158, 130, 175)
    ) AS v (report, analyte, position, value, low, high) ON v.report = r.id;
