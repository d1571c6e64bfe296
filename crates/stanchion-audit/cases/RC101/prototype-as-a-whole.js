// also: RC302
const fs = require("fs");

function Tasks() {}

Tasks.prototype = {
  all() {
    return JSON.parse(fs.readFileSync("/data/tasks.json", "utf8"));
  },
  keep(tasks) {
    fs.writeFileSync("/data/tasks.json", JSON.stringify(tasks)); // expect: RC101 read=8
  },
  add(task) {
    var tasks = this.all();
    tasks.push(task);
    this.keep(tasks);
  },
};

module.exports = Tasks;
