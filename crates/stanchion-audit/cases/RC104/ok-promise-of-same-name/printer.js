export class Printer {
  constructor() {
    this.paper = 0;
  }

  async prepare() {
    this.paper = 100;
  }
}
