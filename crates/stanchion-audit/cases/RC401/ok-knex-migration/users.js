// deployment: cluster
const knex = require("knex")({ client: "pg" });

exports.byEmail = async (email) => {
  const row = await knex("users").where({ email }).first();
  if (row) return false;
  await knex("users").insert({ email });
  return true;
};

exports.byName = async (first, last) => {
  const row = await knex("users").where({ first, last }).first();
  if (row) return false;
  await knex("users").insert({ first, last });
  return true;
};
