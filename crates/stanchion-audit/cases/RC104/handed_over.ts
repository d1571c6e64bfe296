// What the answer hands over stays open: the second one overwrites the first, and nobody closes that.
import { Exchange } from "some-exchange";

export class Line {
  private link: { send(text: string): Promise<void> } | null = null;
  private exchange = new Exchange();

  async say(text: string) {
    if (!this.link) {
      const opened = await this.exchange.open("main");
      this.link = opened.link; // expect: RC104 read=9
    }
    await this.link.send(text);
  }
}
