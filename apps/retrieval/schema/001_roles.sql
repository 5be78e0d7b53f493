-- Who there is. Passwords are set by `migrate`, which knows them; login roles own nothing.
--   switchyard_owner     owns every table; policies are forced on it too
--   switchyard_identity  owns the functions that say who is asking
--   switchyard_staff     owns the functions that show tickets to people
DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['switchyard_owner', 'switchyard_identity', 'switchyard_staff'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN NOBYPASSRLS NOINHERIT', role);
    END IF;
  END LOOP;
  FOREACH role IN ARRAY ARRAY['gateway', 'assistant', 'tickets'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
      EXECUTE format('CREATE ROLE %I LOGIN NOBYPASSRLS NOINHERIT', role);
    END IF;
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role);
  END LOOP;
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
END
$$;

REVOKE ALL ON SCHEMA public FROM PUBLIC;

-- New functions are executable by everybody unless said otherwise: say otherwise.
ALTER DEFAULT PRIVILEGES FOR ROLE switchyard_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE switchyard_identity REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE switchyard_staff REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

CREATE SCHEMA identity AUTHORIZATION switchyard_owner;
CREATE SCHEMA insurance AUTHORIZATION switchyard_owner;
CREATE SCHEMA medical AUTHORIZATION switchyard_owner;
CREATE SCHEMA tickets AUTHORIZATION switchyard_owner;
