// bugs: the article's own wrong example, retries without a pause; deployment: cluster; also: RC402
import axios from "axios";

export async function reach(order: string) {
  for (let turn = 0; turn < 10; turn++) {
    try {
      return await axios.post("https://stock.example/holds", { order }); // expect: RC403
    } catch (error) {
      if (turn === 9) throw error;
    }
  }
}
