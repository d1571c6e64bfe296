// deployment: cluster
const knex = require("knex")({ client: "pg" });

exports.add = async () => {
  await knex.raw("SELECT pg_advisory_lock(?)", [7]); // expect: RC210
  try {
    await knex("t").increment("n", 1);
  } finally {
    await knex.raw("SELECT pg_advisory_unlock(?)", [7]);
  }
};
