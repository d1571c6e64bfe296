import { connect } from "@lancedb/lancedb";

class Recipes {
  async open() {
    const db = await connect("./recipes");
    this.table = await db.openTable("recipes");
  }

  async renew(title, steps) {
    await this.table.delete(`title = '${title}'`);
    await this.table.add(steps.map((step) => ({ title, step }))); // expect: RC401 read=10
  }

  async first(title, steps) {
    const found = await this.table.query().where(`title = '${title}'`).toArray();
    if (found.length) return;
    await this.table.add(steps.map((step) => ({ title, step }))); // expect: RC401 read=15
  }
}

export const recipes = new Recipes();
await recipes.open();
