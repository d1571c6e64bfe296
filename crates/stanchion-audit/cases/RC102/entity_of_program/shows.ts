import { Controller, Param, Post } from "@nestjs/common";
import { InjectRepository } from "@nestjs/typeorm";
import { Repository } from "typeorm";
import { Show } from "./show";

@Controller("shows")
export class Shows {
  constructor(@InjectRepository(Show) private readonly shows: Repository<Show>) {}

  @Post(":id")
  async take(@Param("id") id: number) {
    const show = await this.shows.findOne({ where: { id } });
    if (!show) return;
    show.places = show.places - 1;
    await this.shows.save(show); // expect: RC102 read=12
  }
}
