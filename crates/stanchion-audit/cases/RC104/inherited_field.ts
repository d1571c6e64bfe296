class Counted {
  protected count = 0;
}

class Visits extends Counted {
  async add(): Promise<number> {
    const before = this.count;
    await fetch("https://visits.example");
    this.count = before + 1; // expect: RC104 read=7
    return this.count;
  }
}

const visits = new Visits();

export const add = () => visits.add();
