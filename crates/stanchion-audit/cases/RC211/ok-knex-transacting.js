// deployment: cluster
const knex = require("knex")({ client: "pg" });

exports.add = async (id) => {
  const trx = await knex.transaction();
  try {
    const row = await knex("t").transacting(trx).forUpdate().where({ id }).first();
    await knex("t").transacting(trx).where({ id }).update({ n: row.n + 1 });
    await trx.commit();
  } catch (error) {
    await trx.rollback();
    throw error;
  }
};
