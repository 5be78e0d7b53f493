-- What is measured, and the customers whom the business scenarios ask as. The scenarios check
-- these values: change both together.
INSERT INTO medical.analytes (code, label_zh, label_en, unit) VALUES
  ('glucose', '空腹血糖', 'Fasting glucose', 'mmol/L'),
  ('hba1c', '糖化血红蛋白', 'Haemoglobin A1c', '%'),
  ('total_cholesterol', '总胆固醇', 'Total cholesterol', 'mmol/L'),
  ('ldl', '低密度脂蛋白胆固醇', 'LDL cholesterol', 'mmol/L'),
  ('hdl', '高密度脂蛋白胆固醇', 'HDL cholesterol', 'mmol/L'),
  ('triglycerides', '甘油三酯', 'Triglycerides', 'mmol/L'),
  ('alt', '丙氨酸氨基转移酶', 'Alanine aminotransferase', 'U/L'),
  ('creatinine', '肌酐', 'Creatinine', 'µmol/L'),
  ('uric_acid', '尿酸', 'Uric acid', 'µmol/L'),
  ('haemoglobin', '血红蛋白', 'Haemoglobin', 'g/L')
ON CONFLICT (code) DO UPDATE
  SET label_zh = EXCLUDED.label_zh, label_en = EXCLUDED.label_en, unit = EXCLUDED.unit;

INSERT INTO identity.customers (id, name, language, synthetic) VALUES
  ('s-zh', '合成客户', 'zh', true),
  ('s-en', 'Synthetic Customer', 'en', true)
ON CONFLICT (id) DO UPDATE
  SET name = EXCLUDED.name, language = EXCLUDED.language, synthetic = EXCLUDED.synthetic;

INSERT INTO insurance.accounts (customer, policy, plan, currency, balance, annual_limit,
  used_this_year, deductible, deductible_left, as_of) VALUES
  ('s-zh', 'S-ZH-01', '标准医疗保险', 'CNY', 8250.00, 20000.00, 11750.00, 1500.00, 300.00,
   '2026-11-01'),
  ('s-en', 'S-EN-01', 'Standard Health', 'CNY', 8250.00, 20000.00, 11750.00, 1500.00, 300.00,
   '2026-11-01')
ON CONFLICT (customer) DO UPDATE
  SET policy = EXCLUDED.policy, plan = EXCLUDED.plan, currency = EXCLUDED.currency,
      balance = EXCLUDED.balance, annual_limit = EXCLUDED.annual_limit,
      used_this_year = EXCLUDED.used_this_year, deductible = EXCLUDED.deductible,
      deductible_left = EXCLUDED.deductible_left, as_of = EXCLUDED.as_of;

INSERT INTO medical.reports (id, customer, laboratory, reported_on) VALUES
  ('s-zh-1', 's-zh', '合成检验中心', '2026-10-20'),
  ('s-en-1', 's-en', 'Synthetic Laboratory', '2026-10-20')
ON CONFLICT (id) DO UPDATE
  SET laboratory = EXCLUDED.laboratory, reported_on = EXCLUDED.reported_on;

DELETE FROM medical.results WHERE report IN ('s-zh-1', 's-en-1');
INSERT INTO medical.results (report, customer, analyte, position, value, low, high)
  SELECT r.id, r.customer, v.analyte, v.position, v.value, v.low, v.high
    FROM medical.reports AS r, (VALUES
      ('glucose', 1, 6.8, 3.9, 6.1),
      ('hba1c', 2, 5.7, 4.0, 6.0),
      ('total_cholesterol', 3, 5.0, NULL, 5.2),
      ('ldl', 4, 3.9, NULL, 3.4),
      ('hdl', 5, 0.9, 1.0, NULL),
      ('triglycerides', 6, 1.4, NULL, 1.7),
      ('alt', 7, 32, 9, 50),
      ('creatinine', 8, 74, 57, 97)
    ) AS v (analyte, position, value, low, high)
   WHERE r.id IN ('s-zh-1', 's-en-1');
