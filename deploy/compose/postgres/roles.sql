-- The database with its two roles: the owner of the schema migrates it, and the other one serves.
-- Their passwords are variables of the container's environment.
\set ON_ERROR_STOP on
\getenv owner_password HOLDFAST_OWNER_PASSWORD
\getenv app_password HOLDFAST_APP_PASSWORD

CREATE ROLE holdfast_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE holdfast_app LOGIN PASSWORD :'app_password';
CREATE DATABASE holdfast OWNER holdfast_owner ENCODING 'UTF8' TEMPLATE template0;

\connect holdfast
CREATE SCHEMA holdfast AUTHORIZATION holdfast_owner;
GRANT USAGE ON SCHEMA holdfast TO holdfast_app;
-- Of the tables that `holdfastd migrate` is yet to make.
ALTER DEFAULT PRIVILEGES FOR ROLE holdfast_owner IN SCHEMA holdfast
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO holdfast_app;
