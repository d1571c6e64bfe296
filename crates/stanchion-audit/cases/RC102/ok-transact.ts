import Fastify from "fastify";

const app = Fastify();

app.post("/shows/:show", async (request: any) => {
  await (app as any).pg.transact(async (client: any) => {
    const { rows } = await client.query("SELECT places FROM shows WHERE id = $1 FOR UPDATE", [request.params.show]);
    await client.query("UPDATE shows SET places = $1 WHERE id = $2", [rows[0].places - 1, request.params.show]);
  });
});

app.listen({ port: 3000 });
