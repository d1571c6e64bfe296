// deployment: cluster
import axios from "axios";

async function p3() {
  const { data } = await axios.get("https://feed.example/new");
  for (const item of data.items) {
    await axios.post("https://chat.example/messages", { text: item.title }); // expect: RC406
  }
}

setInterval(() => {
  void p3();
}, 60_000);
