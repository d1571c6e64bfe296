// What is put there has nothing of what was there.
export class Service {
  async start(app) {
    this.server = app.listen(0);
  }

  async stop() {
    this.server &&= (await new Promise((done) => this.server.close(done)), null);
  }
}
