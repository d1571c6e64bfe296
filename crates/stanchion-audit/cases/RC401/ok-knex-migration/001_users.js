exports.up = (knex) =>
  knex.schema.createTable("users", (t) => {
    t.increments();
    t.string("email").notNullable().unique();
    t.string("first");
    t.string("last");
    t.unique(["first", "last"]);
  });
exports.down = (knex) => knex.schema.dropTable("users");
