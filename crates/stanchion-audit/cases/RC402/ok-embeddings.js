// also: RC403
// What a text is like is asked, under whatever name.
import axios from "axios";

const base = "https://models.example/v2";

export async function like(text) {
  for (let i = 0; i < 3; i++) {
    try {
      return await axios.post(`${base}/multimodalembeddings`, { inputs: [text] });
    } catch {
      await new Promise((ok) => setTimeout(ok, 100 * 2 ** i));
    }
  }
}

export async function near(text) {
  for (let i = 0; i < 3; i++) {
    try {
      return await axios.post(`${base}/embed`, { inputs: [text] });
    } catch {
      await new Promise((ok) => setTimeout(ok, 100 * 2 ** i));
    }
  }
}
