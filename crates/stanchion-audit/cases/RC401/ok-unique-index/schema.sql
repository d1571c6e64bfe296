CREATE TABLE users (
  id bigserial PRIMARY KEY,
  email text NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (email);
